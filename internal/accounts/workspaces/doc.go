// Package workspaces makes and renames workspaces and says which ones a person is
// in. Who manages one (Manage) makes others; an owner (Own) renames it and says
// whether its members need a second factor.
package workspaces
