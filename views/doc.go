// Package views holds the pages: view models (structs of text, numbers and
// times in *_model.go) and the templ components that show them. A model says
// what is to be seen and what may be done (CanPause, PauseURL); it decides
// nothing itself. A full page, a fragment and a live message show one
// component from one model.
package views
