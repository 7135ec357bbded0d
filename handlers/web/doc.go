// Package web is what the pages have in common: answers (Render, SeeOther), forms,
// refusals, toasts for the next page, the browser's session, the theme, the frame
// around a page, and words for numbers and times. It knows no page.
//
// The guard of a route only reads sessions. The methods of Site that write one
// (SignIn, SignOut, KeepInSession, TakeFromSession, RenewSession and what they share) are called
// by handlers that answer at once and never by a stream, so a stream that runs for
// an hour saves nothing over a log out.
package web
