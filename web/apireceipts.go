package web

import (
	"errors"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"slotkeeper/booking"
)

// receiptJSON is a webhook event, however many copies of it came.
type receiptJSON struct {
	ID           uuid.UUID             `json:"id"`
	Provider     string                `json:"provider"`
	ConnectionID uuid.UUID             `json:"connection_id"`
	EventKey     string                `json:"event_key"`
	Kind         booking.Kind          `json:"kind"`
	Status       booking.ReceiptStatus `json:"status"`
	Deliveries   int                   `json:"deliveries" doc:"How many copies came, the first included"`
	ReceivedAt   time.Time             `json:"received_at"`
	ProcessedAt  *time.Time            `json:"processed_at"`
	Error        *string               `json:"error"`
}

func newReceiptJSON(v booking.ReceiptView) receiptJSON {
	return receiptJSON{
		ID: v.ID, Provider: v.Provider, ConnectionID: v.ConnectionID, EventKey: v.EventKey, Kind: v.Kind,
		Status: v.Status, Deliveries: v.Deliveries, ReceivedAt: v.ReceivedAt.UTC(), ProcessedAt: utc(v.ProcessedAt),
		Error: orNull(explain(booking.Answer{Status: v.Status, Reason: v.Reason, Code: v.Code, Error: v.Error})),
	}
}

type receiptsInput struct {
	Paging
	WindowFilter
	SourceFilter
	BookingFilter
	StatusFilter
	ReasonFilter
}

func (in *receiptsInput) filter() (f booking.Filter, err error) {
	err = errors.Join(
		in.WindowFilter.into(&f), in.SourceFilter.into(&f), in.BookingFilter.into(&f),
		in.StatusFilter.into(&f, texts(booking.ReceiptStatuses())...), in.ReasonFilter.into(&f, allReasons...))
	return f, err
}

func (s *server) registerReceipts(api huma.API) {
	listing(s, api, "/receipts", "list-receipts", "Webhook events, newest first", (*receiptsInput).filter, s.Records.Receipts, newReceiptJSON)
	one(s, api, "/receipts/{id}", "get-receipt", "One webhook event", s.Records.Receipt, newReceiptJSON)
}
