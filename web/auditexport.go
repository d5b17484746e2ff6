package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
	"slotkeeper/booking/auditfile"
)

// exportPause is how long a reader of an export may take for a page of it. The
// server's own limit is for whole answers, and would cut a long file.
const exportPause = time.Minute

func exportPath(f auditfile.Format) string { return "/audit/export." + string(f) }

func (s *server) exportCSV(c echo.Context) error   { return s.exportAudit(c, auditfile.CSV) }
func (s *server) exportJSONL(c echo.Context) error { return s.exportAudit(c, auditfile.JSONL) }

// exportAudit streams what the audit's filters leave, page by page. That it was
// asked for is logged before anything is sent: whoever leaves in the middle has
// seen what came until then.
func (s *server) exportAudit(c echo.Context, format auditfile.Format) error {
	if c.QueryParam("view") == adminView {
		return s.exportAdminLog(c, format)
	}
	ctx, who := c.Request().Context(), s.viewer(c)
	q := readAuditQuery(c.QueryParams())
	f, err := q.filter(who.zone, s.Now())
	if err != nil {
		return err
	}
	names, err := s.names(ctx)
	if err != nil {
		return err
	}
	if err := s.Accounts.Note(ctx, s.by(c), access.DidExportAudit, "", auditfile.Detail(format, f)); err != nil {
		return err
	}
	return s.sendFile(c, format, "audit", func(w io.Writer, flushed func() error) (int, error) {
		return auditfile.Write(ctx, w, auditfile.Export{
			Format: format, Filter: f, Names: auditfile.Names{Resources: plainNames(names.known), Connections: names.connection},
			Transitions: s.Records.Transitions, Flushed: flushed,
		})
	})
}

// exportAdminLog is exportAudit of the log of accounts and actions, for who may read
// it.
func (s *server) exportAdminLog(c echo.Context, format auditfile.Format) error {
	ctx, who := c.Request().Context(), s.viewer(c)
	if !who.may(access.ReadAdminLog) {
		return errNoRole
	}
	f, err := readAdminLogQuery(c.QueryParams()).filter(who.zone, s.Now())
	if err != nil {
		return err
	}
	names, err := s.deedNames(ctx)
	if err != nil {
		return err
	}
	if err := s.Accounts.Note(ctx, s.by(c), access.DidExportAdminLog, "", auditfile.DeedsDetail(format, f)); err != nil {
		return err
	}
	return s.sendFile(c, format, "actions", func(w io.Writer, flushed func() error) (int, error) {
		return auditfile.WriteDeeds(ctx, w, auditfile.DeedsExport{Format: format, Filter: f, Names: names, AdminLog: s.Records.AdminLog, Flushed: flushed})
	})
}

func (s *server) deedNames(ctx context.Context) (auditfile.DeedNames, error) {
	names, err := s.names(ctx)
	if err != nil {
		return auditfile.DeedNames{}, err
	}
	return auditfile.NameDeeds(ctx, auditfile.Names{Resources: plainNames(names.known), Connections: names.connection}, s.Records)
}

// sendFile sends a file as it is written, for as long as its reader takes it.
func (s *server) sendFile(c echo.Context, format auditfile.Format, name string, write func(w io.Writer, flushed func() error) (int, error)) error {
	h := c.Response().Header()
	h.Set(echo.HeaderContentType, format.MediaType())
	h.Set(echo.HeaderContentDisposition, fmt.Sprintf(`attachment; filename="%s-%s.%s"`, name, s.Now().UTC().Format("20060102-150405"), format))
	out := http.NewResponseController(c.Response())
	patience := func() error {
		return ignoreUnsupported(out.SetWriteDeadline(time.Now().Add(exportPause))) //nolint:forbidigo // deadlines are by the machine's clock
	}
	if err := patience(); err != nil {
		return err
	}
	n, err := write(c.Response(), func() error {
		if err := ignoreUnsupported(out.Flush()); err != nil {
			return err
		}
		return patience()
	})
	return s.exported(c.Request().Context(), c, n, err)
}

// exported ends an export. One that failed when part of it was sent must not look
// whole: the connection is cut, which every client takes for an error.
func (s *server) exported(ctx context.Context, c echo.Context, n int, err error) error {
	if err == nil {
		return nil
	}
	if !c.Response().Committed {
		// What went wrong is told as a page, not as a file.
		h := c.Response().Header()
		h.Del(echo.HeaderContentType)
		h.Del(echo.HeaderContentDisposition)
		return err
	}
	level := slog.LevelError
	if ctx.Err() != nil {
		level = slog.LevelInfo // the reader left
	}
	s.Log.LogAttrs(ctx, level, "audit export cut", slog.String("request_id", requestIDOf(ctx)), slog.Int("rows", n), slog.Any("error", err))
	panic(http.ErrAbortHandler)
}

// ignoreUnsupported is for writers that know no deadline or flush, as those of
// tests: what they do not know they do not need.
func ignoreUnsupported(err error) error {
	if errors.Is(err, http.ErrNotSupported) {
		return nil
	}
	return err
}

// revealed is a receipt's body for whoever asked for it and may see it, else the
// address that shows it. That it was seen is logged.
func (s *server) revealed(c echo.Context, r booking.ReceiptView) (*payload, string, error) {
	if !s.viewer(c).may(access.ReadRawBodies) {
		return nil, "", nil
	}
	if c.QueryParam("body") == "" {
		return nil, "?body=1#body", nil
	}
	p, err := s.payload(c, r)
	return p, "", err
}
