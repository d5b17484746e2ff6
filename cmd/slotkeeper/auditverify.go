package main

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
)

// shownFindings are listed; of a log that was changed from end to end, the first
// tell as much as all.
const shownFindings = 100

// What no check of the database alone can find.
const chainBlindness = `What this cannot find: a log whose last transitions were written anew together with all their hashes and the ledger, by whoever may do ` +
	`all in the database. Keep the head elsewhere (another machine, a mail, paper) and give it back with --head: rows that lead to it cannot be made. ` +
	`Every line of an audit export ends with its transition's hash, which is the head of that moment.`

type findingJSON struct {
	Flaw   booking.Flaw `json:"flaw"`
	From   int64        `json:"from"`
	To     int64        `json:"to"`
	Detail string       `json:"detail"`
}

type keptHeadJSON struct {
	Head string `json:"head"`
	Seq  *int64 `json:"seq"`
}

type verificationJSON struct {
	OK          bool           `json:"ok"`
	Transitions int64          `json:"transitions"`
	Seq         int64          `json:"seq"`
	Head        string         `json:"head"`
	Findings    []findingJSON  `json:"findings"`
	More        int            `json:"more_findings"`
	Heads       []keptHeadJSON `json:"heads"`
	CannotFind  string         `json:"cannot_find"`
}

func (c *cli) auditVerify() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "verify [--head HASH]…",
		Short: "Check that no transition was changed, removed or inserted, and print the head of the chain",
		Args:  cobra.NoArgs,
	}
	asJSON := jsonFlag(cmd)
	heads := cmd.Flags().StringSlice("head", nil, "a head that was kept elsewhere: 64 hexadecimal digits, as this command prints and an export's last column has")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		out := verificationJSON{Findings: []findingJSON{}, Heads: []keptHeadJSON{}, CannotFind: chainBlindness}
		chain := booking.Chain{Kept: map[[32]byte]*int64{}, Found: func(f booking.Finding) {
			if len(out.Findings) == shownFindings {
				out.More++
				return
			}
			out.Findings = append(out.Findings, findingJSON(f))
		}}
		kept := make([][32]byte, 0, len(*heads))
		for _, text := range *heads {
			head, err := parseHead(text)
			if err != nil {
				return err
			}
			chain.Kept[head] = nil
			kept = append(kept, head)
		}
		return c.withExisting(cmd.Context(), func(inst *installation) error {
			if err := inst.store.CheckChain(cmd.Context(), &chain); err != nil {
				return err
			}
			out.OK = len(out.Findings) == 0
			out.Transitions, out.Seq, out.Head = chain.Rows, chain.Seq, hex.EncodeToString(chain.Head[:])
			for _, head := range kept {
				out.Heads = append(out.Heads, keptHeadJSON{hex.EncodeToString(head[:]), chain.Kept[head]})
			}
			err := inst.accounts.Note(cmd.Context(), access.System, access.DidVerifyAudit, "", access.Facts{
				"intact": strconv.FormatBool(out.OK), "transitions": strconv.FormatInt(out.Transitions, 10), "head": out.Head,
			})
			if err != nil {
				return err
			}
			if *asJSON {
				err = c.printJSON(out)
			} else {
				c.printVerification(out)
			}
			if err == nil && !out.OK {
				err = fmt.Errorf("the audit log is not intact: %s", counted(len(out.Findings)+out.More, "finding"))
			}
			return err
		})
	}
	return cmd
}

func parseHead(text string) (out [32]byte, err error) {
	raw, err := hex.DecodeString(strings.TrimSpace(text))
	if err != nil || len(raw) != len(out) {
		return out, &booking.InvalidError{Field: "--head", Detail: "is 64 hexadecimal digits"}
	}
	return [32]byte(raw), nil
}

func (c *cli) printVerification(v verificationJSON) {
	for _, f := range v.Findings {
		fmt.Fprintf(c.stdout, "%s: %s\n", f.Flaw, f.Detail)
	}
	if v.More > 0 {
		fmt.Fprintf(c.stdout, "and %s more\n", counted(v.More, "finding"))
	}
	if v.OK {
		fmt.Fprintf(c.stdout, "%s checked: none was changed, removed or inserted.\n", counted(int(v.Transitions), "transition"))
	} else {
		fmt.Fprintf(c.stdout, "%s checked.\n", counted(int(v.Transitions), "transition"))
	}
	fmt.Fprintf(c.stdout, "head %s at %d\n", v.Head, v.Seq)
	for _, h := range v.Heads {
		if h.Seq != nil {
			fmt.Fprintf(c.stdout, "%s is transition %d's: all up to it stand as they stood when that head was noted.\n", h.Head, *h.Seq)
		}
	}
	fmt.Fprintln(c.stdout, chainBlindness)
}
