package repos

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// toRescue has the directory moved to the rescue directory in the end.
func (w *Worktree) toRescue() {
	if w.rescued == "" {
		w.rescued = w.repos.rescuePlace(w.attempt.Name())
	}
}

// rescuePlace returns a directory that is not there yet, for what cannot be saved otherwise.
func (r *Repos) rescuePlace(name string) string {
	return filepath.Join(r.State, "rescue", fmt.Sprintf("%s-%s", name, time.Now().UTC().Format("20060102T150405.000")))
}

// noteFile in the rescue directory says what a directory is, and treeDir is what it was.
const (
	noteFile = "README.txt"
	treeDir  = "files"
)

// rescue moves a directory whole to a place where only a person removes it.
func rescue(dir, to, why string) error {
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	if err := os.Rename(dir, filepath.Join(to, treeDir)); err != nil {
		return err
	}
	text := fmt.Sprintf("These are the files of an attempt whose work could not be saved whole. Nobody but you removes them.\n\n"+
		"They were in %s until %s.\n%s\n", dir, time.Now().Format(time.RFC1123), why)
	_ = os.WriteFile(filepath.Join(to, noteFile), []byte(text), 0o600) // the disk may be full; the files are safe
	return nil
}

// Rescued is what was moved to the rescue directory.
type Rescued struct {
	Name string
	// Dir has the files, and a note that says why they are there.
	Dir, Note string
	// Why is the part of the note that says it, and Since when they were moved there.
	Why   string
	Since time.Time
}

// Rescued lists what was rescued and not removed by a person yet.
func (r *Repos) Rescued() (all []Rescued, err error) {
	dirs, err := filepath.Glob(filepath.Join(r.State, "rescue", "*"))
	for _, dir := range dirs {
		note, _ := os.ReadFile(filepath.Join(dir, noteFile)) // the disk was full
		one := Rescued{Name: filepath.Base(dir), Dir: dir, Note: string(note)}
		if _, after, ok := strings.Cut(one.Note, "\nThey were in "); ok {
			_, one.Why, _ = strings.Cut(strings.TrimSpace(after), "\n")
		}
		if info, err := os.Stat(dir); err == nil {
			one.Since = info.ModTime()
		}
		all = append(all, one)
	}
	return all, err
}

// ErrNotRescued is a name under which nothing was rescued.
var ErrNotRescued = errors.New("nothing of that name was rescued")

// RemoveRescued removes what was rescued under a name, which a person wants.
func (r *Repos) RemoveRescued(name string) error {
	all, err := r.Rescued()
	if err != nil {
		return err
	}
	for _, one := range all {
		if one.Name == name {
			return removeAll(one.Dir)
		}
	}
	return fmt.Errorf("%w: %q", ErrNotRescued, name)
}
