package messages

import (
	"slices"
	"strconv"
	"strings"
	"time"

	messageparts "github.com/fleetboard/fleetboard/handlers/parts/message"
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/accounts/members"
	"github.com/fleetboard/fleetboard/internal/blobs"
	"github.com/fleetboard/fleetboard/internal/bus"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/links"
	view "github.com/fleetboard/fleetboard/views/messages"
	"github.com/fleetboard/fleetboard/views/ui"
)

// pageData is what the page is made of.
type pageData struct {
	at       links.MessageView
	who      tenancy.Principal
	fleet    fleet.Snapshot
	members  []members.Member // where a new message is written
	now      time.Time
	canWrite bool

	threads []bus.Conversation
	next    int64
	found   []bus.Found
	refused string // why nothing was looked for
	inbox   bus.Inbox
	letters []bus.DeadLetter
	sizes   map[blobs.Sum]int64 // of payloads that are blobs

	first  *bus.Message // of the open thread, nil for none
	thread []bus.Message
	later  bool // there is more of the thread
	unread bool // the reader's inbox holds some of it

	form *ui.Form // that was refused, nil for none
}

// pageModel returns the model with the forms, which are no part of what is live.
func (d pageData) pageModel() view.Messages {
	m := d.model()
	d.addForms(&m)
	return m
}

func (d pageData) model() view.Messages {
	m := view.Messages{View: d.at, Tabs: d.tabs()}
	if d.canWrite {
		m.NewURL = links.MessagesWith(links.MessageView{Tab: d.listTab(), New: true})
	}
	if d.at.Tab == tabDead {
		dead := d.dead()
		m.Dead = &dead
		return m
	}
	m.List = d.list()
	if d.at.Thread != "" && !d.at.New {
		t := d.open()
		m.Thread = &t
	}
	return m
}

// listTab returns the tab that a form comes back to.
func (d pageData) listTab() string {
	if d.at.Tab == tabYou {
		return tabYou
	}
	return ""
}

func (d pageData) tabs() []ui.Tab {
	tab := func(text, name string) ui.Tab {
		return ui.Tab{Text: text, URL: links.MessagesWith(links.MessageView{Tab: name}), Current: d.at.Tab == name}
	}
	tabs := []ui.Tab{tab("Inbox", ""), tab("For you", tabYou), tab("Notices", tabNotices)}
	if d.who.Can(tenancy.RunFleet) {
		tabs = append(tabs, tab("Dead letters", tabDead))
	}
	return tabs
}

// list returns the column at the left.
func (d pageData) list() view.List {
	switch {
	case d.at.Filter.Query != "":
		return d.foundList()
	case d.at.Tab == tabYou:
		return d.yours()
	}
	l := view.List{Head: "Newest first"}
	for _, c := range d.threads {
		i := d.item(c.Last, messageparts.Subject(c))
		i.Unread, i.Who = c.Unread, strings.Join(c.Who, ", ")
		if i.Key == "" {
			i.Note = c.Last.Type
		}
		l.Items = append(l.Items, i)
	}
	if d.next > 0 {
		l.OlderURL = d.listAt(d.next)
	}
	d.newer(&l)
	switch {
	case len(l.Items) > 0 || l.OlderURL != "":
	case d.at.Tab == tabNotices:
		l.Empty = &ui.Empty{Title: "No notices", Text: "What the server tells agents comes here, such as that a job was handed in."}
	default:
		l.Empty = &ui.Empty{Title: "No messages yet",
			Text: "What agents and people tell one another comes here, a thread a job. Notices of the server have a list of their own."}
	}
	if d.at.Filter != (links.MessageFilter{}) && !d.at.New {
		l.Empty = &ui.Empty{Title: "Write a word to look for", Text: "The filters narrow what is found."}
		l.Items, l.OlderURL = nil, ""
	}
	return l
}

// listAt returns the list from a position on, with the thread that is open.
func (d pageData) listAt(place int64) string {
	to := d.at
	to.Before, to.New = place, false
	return links.MessagesWith(to)
}

func (d pageData) newer(l *view.List) {
	if d.at.Before > 0 {
		l.NewerURL = d.listAt(0)
	}
}

// item returns a line of the list about a message.
func (d pageData) item(m bus.Message, subject string) view.Item {
	to := d.at
	if d.at.New {
		to.Filter = links.MessageFilter{}
	}
	to.Thread, to.At, to.New, to.To = m.CorrelationID, 0, false, ""
	return view.Item{ID: "t-" + ui.DOMID(m.CorrelationID), URL: links.MessagesWith(to), Current: m.CorrelationID == d.at.Thread,
		Key: m.JobKey, Subject: subject, Who: messageparts.AddressName(m.From), At: ui.For(m.At, d.now)}
}

func (d pageData) foundList() view.List {
	l := view.List{Head: "The best of the newest"}
	for _, f := range d.found {
		i := d.item(f.Message, f.Type)
		to := d.at
		to.Thread, to.At, to.New = f.CorrelationID, f.Seq, false
		i.ID, i.URL = "h-"+strconv.FormatInt(f.Seq, 10), links.MessagesWith(to)+"#"+links.MessageID(f.Seq)
		i.Current, i.Passage = f.Seq == d.at.At, messageparts.Passage(f.Passage)
		l.Items = append(l.Items, i)
	}
	if len(l.Items) == 0 {
		l.Empty = &ui.Empty{Title: "No message has these words", Text: d.refused,
			ActionLabel: "Show all messages", ActionURL: links.Messages}
		if f := d.at.Filter; d.refused == "" && f.Type+f.From+f.Job != "" {
			l.Empty.Text = "The filters narrow what is found."
			l.Empty.ActionLabel, l.Empty.ActionURL = "Search without filters",
				links.MessagesWith(links.MessageView{Filter: links.MessageFilter{Query: f.Query}})
		}
	}
	return l
}

// yours returns the threads of what the reader's own inbox holds, the newest first.
func (d pageData) yours() view.List {
	l := view.List{Head: "Not read yet"}
	count := map[string]int{}
	for _, m := range slices.Backward(d.inbox.Messages) {
		if count[m.CorrelationID]++; count[m.CorrelationID] > 1 {
			continue
		}
		text, _ := messageparts.Said(m.Payload)
		if text == "" {
			text = m.Type
		}
		i := d.item(m, web.FirstLine(text, web.MaxQuote))
		i.Unread = true
		l.Items = append(l.Items, i)
	}
	for i := range l.Items {
		for name, n := range count {
			if n > 1 && l.Items[i].ID == "t-"+ui.DOMID(name) {
				l.Items[i].Note = strconv.Itoa(n) + " messages"
			}
		}
	}
	if len(d.inbox.Messages) == bus.MaxRead {
		l.OlderURL = d.listAt(d.inbox.Next)
	}
	if d.newer(&l); l.NewerURL != "" {
		l.NewerURL = links.MessagesWith(links.MessageView{Tab: tabYou})
	}
	if len(l.Items) == 0 {
		l.Empty = &ui.Empty{Title: "Nothing waits for you",
			Text: "What somebody writes to you, and what agents ask about your jobs, stays here until you open it."}
	}
	return l
}

// open returns the thread at length.
func (d pageData) open() view.Thread {
	back := d.at
	back.Thread, back.At = "", 0
	t := view.Thread{Name: d.at.Thread, Subject: d.at.Thread, BackURL: links.MessagesWith(back),
		Blocks: messageparts.Blocks(d.thread, d.sizes, d.now),
		Gone:   d.first == nil}
	if t.Gone {
		return t
	}
	if text, _ := messageparts.Said(d.first.Payload); text != "" {
		t.Subject = web.FirstLine(text, web.MaxQuote)
	}
	if d.first.JobKey != "" {
		t.JobKey, t.JobURL = d.first.JobKey, links.Job(d.first.JobKey)
		if d.first.JobKey == d.at.Thread {
			t.Subject = d.jobTitle(d.first.JobKey)
		}
	}
	to := d.at
	to.New = false
	if len(d.thread) > 0 && d.thread[0].Seq > d.first.Seq {
		to.At = d.thread[0].Seq
		t.Earlier = links.MessagesWith(to) + "#" + links.MessageID(to.At)
	}
	if d.later {
		to.At = 0
		t.Later = links.MessagesWith(to)
	}
	if n := len(d.thread); d.unread && n > 0 {
		t.SeenSeq = strconv.FormatInt(d.thread[n-1].Seq, 10)
	}
	return t
}

// jobTitle returns the title of a job, where the list has it.
func (d pageData) jobTitle(key string) string {
	for _, c := range d.threads {
		if c.Last.JobKey == key && c.JobTitle != "" {
			return c.JobTitle
		}
	}
	return "Messages about " + key
}

// dead returns the dead letters.
func (d pageData) dead() view.Dead {
	var m view.Dead
	list := d.letters
	if len(list) > listSize {
		list = list[:listSize]
		m.OlderURL = links.MessagesWith(links.MessageView{Tab: tabDead, Before: list[listSize-1].Seq})
	}
	if d.at.Before > 0 {
		m.NewerURL = links.MessagesWith(links.MessageView{Tab: tabDead})
	}
	for i, l := range list {
		id := l.ID.String()
		m.Rows = append(m.Rows, view.Letter{ID: "dead-" + strconv.FormatInt(l.Seq, 10) + "-" + ui.DOMID(l.Inbox),
			Block: messageparts.Blocks([]bus.Message{l.Message}, d.sizes, d.now)[0], Inbox: d.inboxName(l), Error: l.Error,
			Times: web.Plural(l.Deliveries, "time", "times"), At: ui.Ago(l.At, d.now),
			Redrive: links.Redrive(id), Discard: links.Discard(id)})
		if i > 0 && list[i-1].Seq == l.Seq {
			m.Rows[i].Block.ID += "-" + strconv.Itoa(i)
		}
	}
	if len(list) == 0 {
		m.Empty = &ui.Empty{Title: "No dead letters",
			Text: "A message that was handed out five times and never acknowledged comes here, and waits for a person."}
	}
	return m
}

// inboxName names whose inbox gave a message up.
func (d pageData) inboxName(l bus.DeadLetter) string {
	if l.To.Kind != bus.ToAll {
		return messageparts.AddressName(l.To)
	}
	for _, f := range d.fleet.Factories {
		for _, a := range f.Agents {
			if l.Inbox == string(bus.ToAgent)+":"+a.ID.String() {
				return a.Name
			}
		}
	}
	return "an agent that is gone"
}
