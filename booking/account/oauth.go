package account

import (
	"context"
	"fmt"

	"golang.org/x/oauth2"

	"slotkeeper/providers"
)

// Authorizable tells whether an app of this installation is configured at a
// provider, so that people may connect by signing in there.
func (a *Accounts) Authorizable(provider string) bool {
	_, err := a.oauth(a.opts.Providers[provider], "")
	return err == nil
}

// AuthURL is where a person authorises our app. state comes back to redirect, and
// verifier (oauth2.GenerateVerifier) proves to the provider that whoever redeems
// the code began this.
func (a *Accounts) AuthURL(provider, redirect, state, verifier string) (string, error) {
	config, err := a.oauth(a.opts.Providers[provider], redirect)
	if err != nil {
		return "", err
	}
	return config.AuthCodeURL(state, oauth2.S256ChallengeOption(verifier)), nil
}

// Redeem gets the credentials that a code stands for. The app's signing key comes
// along where the provider signs with that.
func (a *Accounts) Redeem(ctx context.Context, provider, redirect, code, verifier string) (c providers.Credentials, signingKey string, err error) {
	config, err := a.oauth(a.opts.Providers[provider], redirect)
	if err != nil {
		return c, "", err
	}
	ctx, cancel := context.WithTimeout(a.withClient(ctx), refreshTime)
	defer cancel()
	token, err := config.Exchange(ctx, code, oauth2.VerifierOption(verifier))
	if err != nil {
		return c, "", grantError(err, config.ClientSecret, code, verifier)
	}
	return credentials(c, token), a.opts.Apps[provider].SigningKey, nil
}

// oauth is the app's configuration at a provider.
func (a *Accounts) oauth(p providers.Provider, redirect string) (*oauth2.Config, error) {
	auth, ok := p.(providers.Authorizer)
	if !ok {
		return nil, ErrCannotAsk
	}
	app := a.opts.Apps[p.Name()]
	if app.ID == "" {
		return nil, fmt.Errorf("no app of this installation is configured at %s", p.Name())
	}
	e := auth.OAuth(app.Base)
	style := oauth2.AuthStyleInHeader
	if e.InParams {
		style = oauth2.AuthStyleInParams
	}
	return &oauth2.Config{
		ClientID: app.ID, ClientSecret: app.Secret, RedirectURL: redirect, Scopes: e.Scopes,
		Endpoint: oauth2.Endpoint{AuthURL: e.AuthURL, TokenURL: e.TokenURL, AuthStyle: style},
	}, nil
}
