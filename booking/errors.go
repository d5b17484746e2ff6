package booking

import (
	"errors"
	"fmt"
)

// ErrNotFound says that there is no such thing, or not for this caller.
var ErrNotFound = errors.New("not found")

// ErrUnavailable says that the database cannot be reached or did not answer in
// time: nothing is known to be stored, and trying again is safe.
var ErrUnavailable = errors.New("the database is not available")

// ErrImpactChanged says that a change of resources would do something else by
// now than what was agreed to; nothing was done.
var ErrImpactChanged = errors.New("what the change does is another by now: look again")

// FenceError says that a constraint of the database refused a write that the
// application should not have tried: somebody wrote past the ledger's lock.
type FenceError struct {
	Constraint string
	Err        error
}

func (e *FenceError) Error() string {
	return fmt.Sprintf("booking: refused by %s: %v", e.Constraint, e.Err)
}

func (e *FenceError) Unwrap() error { return e.Err }

// InvalidError says what is wrong with an input; its text may be shown.
type InvalidError struct {
	Field  string // the parameter or form field, "" when it is the whole
	Detail string
}

func (e *InvalidError) Error() string {
	if e.Field == "" {
		return e.Detail
	}
	return e.Field + ": " + e.Detail
}

// ConflictError says that what stands does not allow the request; its text may
// be shown. Code names what it is for pages in other languages.
type ConflictError struct {
	Code   string
	Detail string
}

func (e *ConflictError) Error() string { return e.Detail }
