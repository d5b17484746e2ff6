package store_test

import (
	"testing"

	"slotkeeper/booking/store/storetest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	for name, fresh := range databases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			storetest.Run(t, fresh)
		})
	}
}
