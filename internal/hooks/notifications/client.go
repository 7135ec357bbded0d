package notifications

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/fleetboard/fleetboard/internal/outbound"
)

// connectTimeout bounds a connection to an address of a stranger.
const connectTimeout = 5 * time.Second

// answered returns the refusal that an answer is, nil for one of 2xx.
func answered(what string, res *http.Response, err error) error {
	switch {
	case errors.Is(err, outbound.ErrPrivate):
		return &refusal{text: what + " is in a private network, which the operator of the server has not allowed.", final: true, cause: err}
	case errors.Is(err, context.DeadlineExceeded):
		return &refusal{text: what + " did not answer in time.", cause: err}
	case err != nil:
		return &refusal{text: what + " could not be reached.", cause: err}
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode/100 == 2 {
		return nil
	}
	return &refusal{text: fmt.Sprintf("%s answered %d.", what, res.StatusCode), final: res.StatusCode == http.StatusGone}
}

func escape(text string) string { return url.QueryEscape(text) }
