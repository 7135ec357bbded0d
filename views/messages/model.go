// Package messages shows the message bus: threads, one of them at length, what is for the
// reader, and dead letters.
package messages

import (
	"github.com/fleetboard/fleetboard/views/links"
	"github.com/fleetboard/fleetboard/views/messageparts"
	"github.com/fleetboard/fleetboard/views/ui"
)

// Messages is all that the page shows. The list and the thread are live, the forms are not.
type Messages struct {
	View   links.MessageView
	Tabs   []ui.Tab
	NewURL string // "" for those who may not write
	List   List
	Thread *Thread // nil where none is open
	Form   *Form   // of a new message, nil where it is not open
	Dead   *Dead   // nil on the other tabs
}

// Open says that there is more than the list to see, which small screens then leave out.
func (m Messages) Open() bool { return m.Thread != nil || m.Form != nil }

// List is the column at the left.
type List struct {
	Head     string // "Newest first"
	Items    []Item
	Empty    *ui.Empty
	NewerURL string // back to the newest, "" at the beginning
	OlderURL string
}

// Item is a thread, or a message that a search found.
type Item struct {
	ID, URL string
	Current bool
	Unread  bool
	Key     string // of its job
	Subject string
	Who     string
	Note    string // "3 unread"
	At      ui.When
	Passage []messageparts.Piece
}

// Thread is one at length.
type Thread struct {
	Name     string
	Subject  string
	JobURL   string
	JobKey   string
	Blocks   []messageparts.Block
	Earlier  string // address, "" for none
	Later    string
	Gone     bool   // there is no message in it
	BackURL  string // to the list, on small screens
	Answer   *Form  // nil for those who may not write
	SeenSeq  string // the newest message that the reader's inbox may hold, "" where it holds none
	ListOnly bool
}

// Form writes a message.
type Form struct {
	ui.Form

	Targets []ui.Option // whom it may be for
	Names   []ui.Option // that the form suggests
	BackURL string
}

// Draft names what is kept of the form on the reader's device.
func (f Form) Draft() string {
	if thread := f.Text("thread"); thread != "" {
		return links.SendMessage + "?thread=" + thread
	}
	return links.SendMessage
}

// Dead are the dead letters.
type Dead struct {
	Rows     []Letter
	OlderURL string
	NewerURL string
	Empty    *ui.Empty
}

// Letter is a message that an inbox gave up.
type Letter struct {
	ID        string
	Block     messageparts.Block
	ThreadURL string
	Inbox     string // whose
	Error     string
	Times     string // "5 times"
	At        ui.When
	Redrive   string
	Discard   string
}
