package witness

import "context"

// Read reads the logs that went on, as the loop does.
func (w *Witness) Read(ctx context.Context) error { return w.read(ctx) }

// Published notes which log went on.
func (w *Witness) Published(topic string) { w.published(topic) }
