// Package handlers is the HTTP edge for people: pages, forms, fragments and the
// live stream. It turns requests into calls of the services and their answers
// into view models; it decides nothing about jobs or agents.
//
// A request passes, in this order: request id, security headers, access log,
// recovery, the check of its origin, the limit of its body, and then the guard of
// its route: session -> who is calling -> permission -> handler. Every route is
// a Route with a Need, so a page without a permission cannot be served. Handlers
// return errors and never write them; HandleError alone shows a refusal, as a
// page, a toast or a redirect to the log in.
//
// handlers/web is what pages have in common, and says which of its methods write a
// session: a stream calls none of them.
package handlers
