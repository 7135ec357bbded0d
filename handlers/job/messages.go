package job

import (
	"context"

	messageparts "github.com/fleetboard/fleetboard/handlers/parts/message"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	view "github.com/fleetboard/fleetboard/views/job"
	"github.com/fleetboard/fleetboard/views/links"
)

// messagesShown is how many messages of its thread the page of a job shows.
const messagesShown = 20

// readMessages reads the end of the job's thread, one message more than is shown where there
// are more, and how large the blobs are that the page names.
func (p *Pages) readMessages(ctx context.Context, who tenancy.Principal, d *pageData) (err error) {
	if d.messages, err = p.Bus.Newest(ctx, who, d.job.Key, 0, messagesShown+1); err != nil {
		return err
	}
	return p.readSizes(ctx, who, d)
}

// thread returns what the job's thread says.
func (s pageData) thread() view.Thread {
	m := view.Thread{URL: links.Thread(s.job.Key), Write: s.canWrite}
	list := s.messages
	if len(list) > messagesShown {
		list, m.More = list[1:], true
	}
	m.Blocks = messageparts.Blocks(list, s.sizes, s.now)
	if len(list) == 0 {
		m.URL = links.MessagesWith(links.MessageView{New: true, Filter: links.MessageFilter{Job: s.job.Key}})
	}
	return m
}
