package links

import (
	"net/url"
	"strconv"
)

// The pages of messages and of the search.
const (
	Messages     = "/messages"
	SendMessage  = "/messages/send"
	SeenMessages = "/messages/seen"
	Search       = "/search"
)

// MessageView is what the page of messages shows. The zero value is the inbox of the
// workspace.
type MessageView struct {
	Tab    string // "you", "notices", "dead"; "" is the inbox
	Thread string // the one that is open
	At     int64  // a message of it, 0 for its end
	Before int64  // threads or dead letters before a position, 0 for the newest; of "you" those after it
	New    bool   // the form of a new message
	To     string // an agent that the form is for
	Filter MessageFilter
}

// MessageFilter is a search of messages.
type MessageFilter struct{ Query, Type, From, Job string }

func (f MessageFilter) set(v url.Values) {
	for name, value := range map[string]string{"q": f.Query, "type": f.Type, "from": f.From, "job": f.Job} {
		if value != "" {
			v.Set(name, value)
		}
	}
}

// Values returns the view as a query.
func (m MessageView) Values() url.Values {
	v := url.Values{}
	for name, value := range map[string]string{"tab": m.Tab, "thread": m.Thread, "to": m.To} {
		if value != "" {
			v.Set(name, value)
		}
	}
	for name, value := range map[string]int64{"at": m.At, "before": m.Before} {
		if value > 0 {
			v.Set(name, strconv.FormatInt(value, 10))
		}
	}
	if m.New {
		v.Set("new", "1")
	}
	m.Filter.set(v)
	return v
}

// MessagesWith returns the page of messages with a view.
func MessagesWith(m MessageView) string { return with(Messages, m.Values()) }

// Thread returns the end of a thread.
func Thread(name string) string { return MessagesWith(MessageView{Thread: name}) }

// ThreadAt returns a thread at a message of it.
func ThreadAt(name string, seq int64) string {
	return MessagesWith(MessageView{Thread: name, At: seq}) + "#" + MessageID(seq)
}

// MessageID returns the id of a message in a page.
func MessageID(seq int64) string { return "m-" + strconv.FormatInt(seq, 10) }

// Redrive and Discard take a dead letter by the id of its message.
func Redrive(id string) string { return Messages + "/dead/" + url.PathEscape(id) + "/redrive" }

// Discard removes a dead letter.
func Discard(id string) string { return Messages + "/dead/" + url.PathEscape(id) + "/discard" }

// SearchFilter is a search of the workspace. Of messages those of one of the types, senders
// and jobs are found, of logs those of one of the jobs.
type SearchFilter struct {
	Query                string
	Types, Senders, Jobs []string
}

// Lists returns the lists by the names of their values.
func (f *SearchFilter) Lists() map[string]*[]string {
	return map[string]*[]string{"type": &f.Types, "from": &f.Senders, "job": &f.Jobs}
}

// SearchFor returns the search in "messages", "jobs", "logs"; "" is all.
func SearchFor(in string, f SearchFilter) string {
	v := url.Values{}
	for name, list := range f.Lists() {
		setAll(v, name, *list)
	}
	if f.Query != "" {
		v.Set("q", f.Query)
	}
	if in != "" {
		v.Set("in", in)
	}
	return with(Search, v)
}
