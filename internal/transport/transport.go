package transport

// Names of the transports, as the setting has them.
const (
	NameListen = "listen"
	NameNATS   = "nats"
	NamePoll   = "poll"
)

// Receiver takes what a transport receives. Its methods return quickly and may be called from
// several goroutines.
type Receiver interface {
	// Connected says that messages arrive from now on, and that some may have been lost before.
	Connected()
	// Disconnected says that no messages arrive for now.
	Disconnected(err error)
	// Receive takes a message of any process, also of this one.
	Receive(message string)
}
