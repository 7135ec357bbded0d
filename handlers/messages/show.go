package messages

import (
	"context"
	"net/url"
	"strconv"

	messageparts "github.com/fleetboard/fleetboard/handlers/parts/message"
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/bus"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/links"
)

const (
	// listSize is how many threads, hits or dead letters the page lists at once.
	listSize = 40
	// threadSize is how many messages of a thread it shows.
	threadSize = 100
	// maxID bounds a name that an address may hold, in characters.
	maxID = 254
)

// The tabs.
const (
	tabYou     = "you"
	tabNotices = "notices"
	tabDead    = "dead"
)

// parseView reads the page's query. What makes no sense is left out.
func parseView(q url.Values) links.MessageView {
	number := func(name string) int64 {
		n, _ := strconv.ParseInt(q.Get(name), 10, 64)
		return max(0, n)
	}
	v := links.MessageView{At: number("at"), Before: number("before"), New: q.Get("new") != "", To: web.FilterValue(q, "to"),
		Filter: links.MessageFilter{Query: web.SearchText(q.Get("q")), Type: web.FilterValue(q, "type"), From: web.FilterValue(q, "from"),
			Job: web.FilterValue(q, "job")}}
	if tab := q.Get("tab"); tab == tabYou || tab == tabNotices || tab == tabDead {
		v.Tab = tab
	}
	if name := q.Get("thread"); web.Fits(name, bus.MaxThread) {
		v.Thread = name
	}
	return v
}

// read reads what a view shows.
func (p *pages) read(ctx context.Context, r web.Request) (d pageData, err error) {
	at, who := parseView(r.Query), r.Who
	d = pageData{at: at, who: who, fleet: r.Fleet, now: r.Now(), canWrite: who.Can(tenancy.WriteJobs)}
	if at.Tab == tabDead {
		letters, err := p.Bus.DeadLetters(ctx, who, at.Before, listSize+1)
		if err != nil {
			return d, err
		}
		d.letters = letters
		return d, p.readSizes(ctx, who, &d)
	}
	if err := p.readList(ctx, who, &d); err != nil {
		return d, err
	}
	if err := p.readThread(ctx, who, &d); err != nil {
		return d, err
	}
	if at.New && d.canWrite {
		if d.members, err = p.Accounts.Members.List(ctx, who); err != nil {
			return d, err
		}
	}
	return d, p.readSizes(ctx, who, &d)
}

// readSizes reads how large the payloads are that are shown at length and kept as blobs.
func (p *pages) readSizes(ctx context.Context, who tenancy.Principal, d *pageData) (err error) {
	shown := d.thread
	for _, l := range d.letters {
		shown = append(shown, l.Message)
	}
	d.sizes, err = p.Blobs.Sizes(ctx, who, messageparts.Sums(shown)...)
	return err
}

// readList reads the column at the left: what a search finds, what is for the reader, or
// the threads of the workspace.
func (p *pages) readList(ctx context.Context, who tenancy.Principal, d *pageData) (err error) {
	f := d.at.Filter
	switch {
	case f.Query != "":
		filter := bus.Filter{Types: web.Single(f.Type), Senders: web.Single(f.From), Jobs: web.Single(f.Job)}
		d.found, err = p.Bus.Search(ctx, who, f.Query, filter, listSize)
		if fault.Is(err, fault.Validation) {
			d.refused = web.FieldText(err)
			return nil
		}
	case d.at.Tab == tabYou:
		d.inbox, err = p.Bus.Read(ctx, who, bus.Query{After: d.at.Before, Limit: bus.MaxRead, Peek: true})
	default:
		d.threads, d.next, err = p.Bus.Threads(ctx, who, d.at.Tab == tabNotices, d.at.Before, listSize)
	}
	return err
}

// readThread reads the thread that is open: its end, or what stands around a message.
func (p *pages) readThread(ctx context.Context, who tenancy.Principal, d *pageData) error {
	name := d.at.Thread
	if name == "" {
		return nil
	}
	unread, err := p.Bus.Unread(ctx, who, name)
	if err != nil {
		return err
	}
	d.unread = unread[name]
	first, err := p.Bus.Thread(ctx, who, name, 0, 1)
	if err != nil || len(first) == 0 {
		return err
	}
	d.first = &first[0]
	if d.at.At == 0 {
		d.thread, err = p.Bus.Newest(ctx, who, name, 0, threadSize)
		return err
	}
	if d.thread, err = p.Bus.Newest(ctx, who, name, d.at.At+1, threadSize/2); err != nil {
		return err
	}
	after, err := p.Bus.Thread(ctx, who, name, d.at.At, threadSize/2+1)
	if len(after) > threadSize/2 {
		after, d.later = after[:threadSize/2], true
	}
	d.thread = append(d.thread, after...)
	return err
}
