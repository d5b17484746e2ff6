package web

import (
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"slotkeeper/booking/access"
	"slotkeeper/booking/account"
)

// selftestView is how a selftest went.
type selftestView struct {
	Hops []account.Hop
	// Host is the machine that it was sent from; "" when it has no name.
	Host string
	At   time.Time
	// Failed is the first hop that did, Minded the first that passed and needs
	// attention all the same; "" for none.
	Failed, Minded account.HopName
}

// testConnection posts a signed selftest to a connection and shows each hop. It is
// shown this once, by the answer itself: what it found is of this moment.
func (s *server) testConnection(c echo.Context) error {
	conn, err := s.connectionNow(c, access.SyncConnections)
	if err != nil {
		return err
	}
	hops, err := s.Connect.SelfTest(c.Request().Context(), conn.ID)
	if err != nil {
		return s.connectionTrouble(c, conn.ID, err)
	}
	host, err := os.Hostname()
	if err != nil {
		host = "" // the page then says only that it was this server
	}
	tested := selftestView{Hops: hops, Host: host, At: s.Now()}
	for _, h := range hops {
		if !h.OK {
			tested.Failed = h.Name
			break
		}
		if h.Mind() && tested.Minded == "" {
			tested.Minded = h.Name
		}
	}
	detail := access.Facts{"ok": strconv.FormatBool(tested.Failed == "")}
	if tested.Failed != "" {
		detail["failed_at"] = string(tested.Failed)
	}
	if err := s.note(c, access.DidTestConnection, conn.ID, detail); err != nil {
		return err
	}
	return s.showConnection(c, http.StatusOK, conn.ID, connectionPageView{Tested: &tested})
}
