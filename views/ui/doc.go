// Package ui is the kit of the pages: glyphs, icons, times, notes, toasts and
// the two places where text turns into markup (SafeHTML). It knows nothing of
// jobs or factories beyond the words of a status, and does no I/O.
package ui
