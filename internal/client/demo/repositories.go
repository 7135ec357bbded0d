package demo

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
)

// makeRepositories makes the repositories that are not there yet, each with a commit.
func makeRepositories(ctx context.Context, dir string) error {
	for _, names := range products {
		for _, name := range names {
			if err := makeRepository(ctx, filepath.Join(dir, name)); err != nil {
				return err
			}
		}
	}
	return nil
}

func makeRepository(ctx context.Context, dir string) error {
	if _, err := os.Stat(filepath.Join(dir, ".git")); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, text := range map[string]string{
		"README.md": "# " + filepath.Base(dir) + "\n\nA repository of the demo.\n",
		"Makefile":  "test:\n\t@grep -q . README.md && echo all tests pass\n",
		"NOTES.md":  "# Changes\n\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A"},
		{"-c", "user.name=Fleetboard", "-c", "user.email=demo@fleetboard.invalid", "-c", "commit.gpgsign=false",
			"commit", "-q", "-m", "Begin"}} {
		cmd := exec.CommandContext(ctx, "git", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("git %s in %s: %w: %s", args[0], dir, err, out)
		}
	}
	return nil
}
