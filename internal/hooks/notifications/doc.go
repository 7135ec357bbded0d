// Package notifications tells people of what waits for their decision: in their browsers, by e-mail
// and by a webhook of their own.
//
// It tells of state, not of events. Look compares the open decisions of a workspace with what its
// members were told of, and notes which messages are due. A decision has one message on a channel,
// however much happens to it: one that is not sent yet is changed or dropped, one that was is
// updated. Send takes messages that are due for a while, sends them without a lock, and notes it; a
// process that ends in between leaves them to be sent again after that while, under the same names.
package notifications
