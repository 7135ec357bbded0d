package api

import (
	"context"
	"net/http"
	"time"

	"github.com/fleetboard/fleetboard/handlers/usagecsv"
	"github.com/fleetboard/fleetboard/internal/spend/usage"
)

// charges answers with all charges of a period.
func (s *usageHandlers) charges(ctx context.Context, of usage.Query) (GetUsageResponseObject, error) {
	account, err := s.Usage.Account(ctx, principal(ctx))
	if err != nil {
		return nil, err
	}
	answer := chargesCSV{ctx: ctx, usageHandlers: s, account: account, query: usage.ChargeQuery{Query: of, Limit: usage.MaxCharges}}
	answer.first, answer.more, err = s.Usage.Charges(ctx, principal(ctx), answer.query)
	return answer, err
}

// chargesCSV streams charges page by page, so that it holds one page whatever there is.
type chargesCSV struct {
	*usageHandlers

	ctx     context.Context // of the call; it ends when the reader leaves
	account usage.Account
	query   usage.ChargeQuery
	first   []usage.Charge
	more    bool
}

// VisitGetUsageResponse writes all pages. What breaks off is cut, so that nobody takes a part for the whole.
func (a chargesCSV) VisitGetUsageResponse(w http.ResponseWriter) error {
	w.Header().Set("Content-Type", usagecsv.ContentType)
	w.WriteHeader(http.StatusOK)
	err := usagecsv.WriteFocus(w, a.account, a.first, a.more, func(last usage.Charge) ([]usage.Charge, bool, error) {
		// Where the connection cannot be given more time, the server's own limit holds.
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTime))
		a.query.After = last
		turn, err := a.Turns.Await(a.ctx, principal(a.ctx))
		if err != nil {
			return nil, false, err
		}
		defer turn.End()
		return a.Usage.Charges(a.ctx, principal(a.ctx), a.query)
	})
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	return nil
}
