package booking

import (
	"errors"
	"time"

	"github.com/google/uuid"
)

// Hold is somebody's right to be the only one who does a thing, until a time. Who
// it is tells the id, which nobody else has, and never the time: a renewal that was
// written although its answer was lost is then still the holder's own.
type Hold struct {
	By    uuid.UUID
	Until time.Time
}

// ErrNotHeld says that what somebody held is another's by now, or is over, or that the
// database has crashed since, which ends holds of runs and replays: nothing of what he
// asked for was written.
var ErrNotHeld = errors.New("another has it by now, or it is over, or the database crashed")
