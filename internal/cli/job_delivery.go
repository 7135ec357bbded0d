package cli

import (
	"context"
	"io"

	"fleetboard/handlers/api/apiclient"
	"fleetboard/internal/client"
)

// lastDelivery is what became of the commit of the last attempt on a job, nil where nobody
// has told.
func lastDelivery(ctx context.Context, to *client.Client, job string) (*apiclient.Delivery, error) {
	_, page, err := readInto[apiclient.AttemptPage](to.ListAttempts(ctx, job, &apiclient.ListAttemptsParams{Limit: new(1)}))
	if err != nil || len(page.Items) == 0 {
		return nil, err
	}
	return page.Items[0].Delivery, nil
}

// deliveries are the states in words.
var deliveries = map[apiclient.DeliveryState]string{apiclient.DeliveryStateLocal: "in the clone of its host",
	apiclient.DeliveryStatePushed: "pushed to the origin", apiclient.DeliveryStateRefused: "refused by the origin"}

// delivery says what became of a commit.
func (s *screen) delivery(w io.Writer, d *apiclient.Delivery) {
	if d == nil {
		return
	}
	said := deliveries[d.State]
	if said == "" {
		said = string(d.State)
	}
	f := facts{w}
	f.text("commit", d.Commit+" on "+d.Branch+": "+said+", "+s.ago(d.At))
	f.text("the origin said", d.Detail)
}
