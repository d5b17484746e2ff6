package notify_test

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// mailServer is an SMTP server of ours. say is what it answers to a recipient.
type mailServer struct {
	net.Listener
	// starts offers STARTTLS with a certificate.
	starts *tls.Config

	mu    sync.Mutex
	say   string
	mails []string
	said  []string // what clients said, in the clear or not
	clear []string // what they said in the clear
}

func newMailServer(t *testing.T) *mailServer { return serveMail(t, nil, nil) }

// serveMail listens with TLS from the start when it is given implicit.
func serveMail(t *testing.T, implicit, starts *tls.Config) *mailServer {
	t.Helper()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	m := &mailServer{Listener: l, say: "250 ok", starts: starts}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			if implicit != nil {
				c = tls.Server(c, implicit)
			}
			go m.talk(c, implicit != nil)
		}
	}()
	return m
}

func (m *mailServer) answers(say string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.say = say
}

func (m *mailServer) received() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.mails)
}

// heard is what clients said, and what of it in the clear.
func (m *mailServer) heard() (all, clear string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return strings.Join(m.said, ""), strings.Join(m.clear, "")
}

func (m *mailServer) hears(line string, private bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.said = append(m.said, line)
	if !private {
		m.clear = append(m.clear, line)
	}
}

// talk is enough of RFC 5321, 3207 and 4954 for one who sends.
func (m *mailServer) talk(c net.Conn, private bool) {
	defer func() { _ = c.Close() }()
	m.mu.Lock()
	say := m.say
	m.mu.Unlock()
	write := func(s string) { _, _ = io.WriteString(c, s+"\r\n") }
	write("220 mail.example")
	in := bufio.NewReader(c)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		m.hears(line, private)
		switch verb := strings.ToUpper(strings.Fields(line + " .")[0]); verb {
		case "EHLO":
			write("250-mail.example")
			if m.starts != nil && !private {
				write("250-STARTTLS")
			}
			write("250-AUTH PLAIN LOGIN")
			write("250 8BITMIME")
		case "STARTTLS":
			write("220 go on")
			secret := tls.Server(c, m.starts)
			c, private, in = secret, true, bufio.NewReader(secret)
		case "AUTH":
			write("235 known")
		case "RCPT":
			write(say)
		case "DATA":
			write("354 go on")
			var mail strings.Builder
			for {
				line, err := in.ReadString('\n')
				if err != nil {
					return
				}
				m.hears(line, private)
				if line == ".\r\n" {
					break
				}
				mail.WriteString(line)
			}
			m.mu.Lock()
			m.mails = append(m.mails, mail.String())
			m.mu.Unlock()
			write("250 taken")
		case "QUIT":
			write("221 bye")
			return
		default:
			write("250 ok")
		}
	}
}

// authority signs the certificates of mail servers; the one that is known stands in
// SSL_CERT_FILE, as an operator's own would.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

var known, stranger *authority

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "notify")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(dir)
		known, stranger = newAuthority(), newAuthority()
		file := filepath.Join(dir, "ca.pem")
		if err := os.WriteFile(file, known.pem, 0o600); err != nil {
			panic(err)
		}
		// Read once a process: before anybody speaks TLS.
		if err := os.Setenv("SSL_CERT_FILE", file); err != nil {
			panic(err)
		}
		return m.Run()
	}())
}

func newAuthority() *authority {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	a := &authority{key: key}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Harbour Clinic"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		panic(err)
	}
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		panic(err)
	}
	a.pem = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return a
}

// shows is the certificate that a server at 127.0.0.1, or of a name, shows.
func (a *authority) shows(t *testing.T, address string) *tls.Config {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "mail"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if ip := net.ParseIP(address); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = []string{address}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
}
