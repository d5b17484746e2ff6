package booking

import (
	"fmt"
)

// Flaw is what is wrong with a place of the audit log's chain.
type Flaw string

// The flaws that a chain can show.
const (
	// FlawChanged is a row whose content is not what its hash was made of.
	FlawChanged Flaw = "changed"
	// FlawMissing are numbers that no row has.
	FlawMissing Flaw = "missing"
	// FlawUnlinked is a row that was not made after the one before it.
	FlawUnlinked Flaw = "unlinked"
	// FlawInserted is a row that stands where none can.
	FlawInserted Flaw = "inserted"
	// FlawUnreadable is a row that holds what no row of ours does.
	FlawUnreadable Flaw = "unreadable"
	// FlawHead is a ledger that does not know the newest row.
	FlawHead Flaw = "head"
	// FlawForgotten is a head that was kept elsewhere and that no row has any more.
	FlawForgotten Flaw = "forgotten"
)

// Finding is a flaw and where it is: rows From to To, which are mostly one.
type Finding struct {
	Flaw     Flaw
	From, To int64
	Detail   string
}

// Chain checks the audit log's chain row by row, in the order of seq, and holds
// none of them. The zero value with its Kept heads is at the beginning.
//
// It finds whatever was done to rows without making all later hashes anew. It
// cannot find a log whose end was written anew with hashes and ledger that fit:
// only a head that was kept elsewhere can, since no other rows lead to it.
type Chain struct {
	// Kept are heads that were noted elsewhere, with the place where each was
	// met; nil while it was not.
	Kept map[[32]byte]*int64
	// Found is told each flaw.
	Found func(Finding)

	// Rows that were seen, and the newest of them.
	Rows int64
	Seq  int64
	Head [32]byte
	// also is what the newest row's hash would have to be; a row that was made
	// after it names either.
	also [32]byte
	// loose says that what stood before the next row is not known.
	loose bool
}

func (c *Chain) found(flaw Flaw, from, to int64, format string, args ...any) {
	c.Found(Finding{Flaw: flaw, From: from, To: to, Detail: fmt.Sprintf(format, args...)})
}

// Next checks the row that comes next.
func (c *Chain) Next(t *Transition) {
	c.Rows++
	if t.Seq <= c.Seq {
		c.found(FlawInserted, t.Seq, t.Seq, "a second transition %d, or one before the first", t.Seq)
		return
	}
	c.gap(t.Seq)
	sum := t.Sum()
	if sum != t.Hash {
		c.found(FlawChanged, t.Seq, t.Seq, "what stands in transition %d is not what its hash was made of", t.Seq)
	}
	if !c.loose && t.Prev != c.Head && t.Prev != c.also {
		c.found(FlawUnlinked, t.Seq, t.Seq, "transition %d was made after another row than the %d that stands there: that one was exchanged, or its hash made anew", t.Seq, t.Seq-1)
	}
	c.Seq, c.Head, c.also, c.loose = t.Seq, t.Hash, sum, false
	if at, ok := c.Kept[t.Hash]; ok && at == nil && sum == t.Hash {
		c.Kept[t.Hash] = &t.Seq
	}
}

// Unreadable takes note of a row that could not be read.
func (c *Chain) Unreadable(seq int64, why error) {
	c.Rows++
	if seq > c.Seq {
		c.gap(seq)
		c.Seq = seq
	}
	c.loose = true
	c.found(FlawUnreadable, seq, seq, "transition %d cannot be read: %v", seq, why)
}

// gap tells of numbers that are left out before the next.
func (c *Chain) gap(next int64) {
	switch from, to := c.Seq+1, next-1; {
	case from > to:
		return
	case from == to:
		c.found(FlawMissing, from, to, "transition %d is missing", from)
	default:
		c.found(FlawMissing, from, to, "transitions %d to %d are missing", from, to)
	}
	c.loose = true
}

// End compares the ledger, as it was when the last row was read.
func (c *Chain) End(l Ledger) {
	switch {
	case l.Seq > c.Seq:
		c.gap(l.Seq + 1)
	case l.Seq < c.Seq:
		c.found(FlawInserted, l.Seq+1, c.Seq, "transitions from %d to %d came after the end that the ledger knows, %d", l.Seq+1, c.Seq, l.Seq)
	case !c.loose && l.Head != c.Head:
		c.found(FlawHead, c.Seq, c.Seq, "the ledger's head is not the hash of the newest transition, %d: that was exchanged, or the ledger was changed", c.Seq)
	}
	for head, at := range c.Kept {
		if head == ([32]byte{}) { // of the empty log, with which each begins
			continue
		}
		if at == nil {
			c.found(FlawForgotten, 0, 0, "the head %x that was kept elsewhere is no transition's: what led to it was rewritten or removed, or it is another database's", head)
		}
	}
}
