package transport

import "context"

// Poll sends nothing and receives nothing: what waits looks for itself.
type Poll struct{}

// Name is poll.
func (Poll) Name() string { return NamePoll }

// Run waits for the end of ctx.
func (Poll) Run(ctx context.Context, _ Receiver) error {
	<-ctx.Done()
	return nil
}

// Send does nothing.
func (Poll) Send(context.Context, []string) error { return nil }

// Close does nothing.
func (Poll) Close(context.Context) {}
