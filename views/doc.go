// Package views has a folder for each page, named as its handlers: view models
// (structs of text, numbers and times in model.go) and the templ components that
// show them. A model says what is to be seen and what may be done (CanPause,
// PauseURL); it decides nothing itself. A full page, a fragment and a live
// message show one component from one model.
//
// A page knows no other page. What several of them need is in layout (around a
// page), ui (in a page), links (addresses), events and jobparts. Handlers import
// the views of their own page as view, and jobparts as viewparts.
package views
