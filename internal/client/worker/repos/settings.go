package repos

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// allowed are the settings of the system and of the person that the worker's git takes over:
// the way to an origin, the keys to it, whose directories are trusted, and Git LFS. All else
// is the worker's own, whatever a host or a repository says.
var allowed = regexp.MustCompile(`^(http|https|credential|url|ssh|lfs)\.|^core\.(sshcommand|gitproxy|askpass)$|` +
	`^protocol\.([^.]+\.)?(version|allow)$|^remote\.proxy|^safe\.directory$|^filter\.lfs\.(clean|smudge|process|required)$|^gssapi\.`)

// programs are settings of Git LFS that name programs: none of them is run.
var programs = regexp.MustCompile(`^lfs\.(extension|customtransfer)\.|^lfs\.(.*\.)?standalonetransferagent$`)

// largeFileFilter are the commands of Git LFS. A host's settings say only that it is set up, and
// whether contents are left where they are: what its files name as commands may be anybody's.
var largeFileFilter = map[string]string{"filter.lfs.clean": "git-lfs clean -- %f", "filter.lfs.smudge": "git-lfs smudge -- %f",
	"filter.lfs.process": "git-lfs filter-process", "filter.lfs.required": "true"}

// skippingFilter are those of them that leave contents where they are.
var skippingFilter = map[string]string{"filter.lfs.smudge": "git-lfs smudge --skip -- %f",
	"filter.lfs.process": "git-lfs filter-process --skip"}

// ownValue returns a setting as the worker takes it over.
func ownValue(key, value string) string {
	if skipping := skippingFilter[key]; skipping != "" && strings.Contains(value, "--skip") {
		return skipping
	}
	return cmp.Or(largeFileFilter[key], value)
}

// fileProtocol are those that are the worker's own: it copies between its own directories.
var fileProtocol = regexp.MustCompile(`^protocol\.((file|ext)\.)?allow$`)

// person is what of a person's own git is needed.
type person struct {
	settings []setting
	// name and email are those of the person's commits, "" where none are set.
	name, email string
	// ignored is the file of what the person's git ignores everywhere.
	ignored string
	// origin and push are the addresses of the remote "origin", "" where there is none.
	origin, push string
	// initial is the branch that a new repository begins with, "" where nothing says so.
	initial string
}

// personIn reads a person's settings of git in a directory: a clone's, or that of none.
func personIn(ctx context.Context, dir string) (person, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", "config", "--list", "-z", "--includes")
	cmd.Dir = dir
	cmd.Env = append(inheritedEnvironment(), "LC_ALL=C", "GIT_OPTIONAL_LOCKS=0", "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
	for _, v := range os.Environ() {
		if strings.HasPrefix(v, "GIT_CONFIG_") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	var complaints beginning
	complaints.left = maxComplaints
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil {
		return person{}, fmt.Errorf("git config: %w: %s", err, strings.TrimSpace(complaints.String()))
	}
	return readPerson(out, dir), nil
}

// readPerson reads the list that git config prints.
func readPerson(list []byte, dir string) person {
	p := person{ignored: defaultExcludes()}
	for entry := range bytes.SplitSeq(list, []byte{0}) {
		key, value, hasValue := strings.Cut(string(entry), "\n")
		if !hasValue {
			value = "true" // a name alone
		}
		switch key {
		case "":
		case "user.name":
			p.name = value
		case "user.email":
			p.email = value
		case "core.excludesfile":
			p.ignored = expandHome(value)
		case "init.defaultbranch":
			p.initial = value
		case "remote.origin.url":
			p.origin = cmp.Or(p.origin, address(value, dir))
		case "remote.origin.pushurl":
			p.push = cmp.Or(p.push, address(value, dir))
		default:
			// lfs.storage is the mirror's own.
			if allowed.MatchString(key) && !fileProtocol.MatchString(key) && !programs.MatchString(key) && key != "lfs.storage" {
				p.settings = append(p.settings, setting{key, ownValue(key, value)})
			}
		}
	}
	p.push = cmp.Or(p.push, p.origin)
	return p
}

// address returns a remote's address as it is from anywhere: a path is from the clone's directory.
func address(value, dir string) string {
	if value == "" || strings.Contains(value, "://") || isRemotePath(value) || filepath.IsAbs(value) {
		return value
	}
	return filepath.Join(dir, value)
}

// defaultExcludes is where git looks for what a person ignores everywhere.
func defaultExcludes() string {
	if dir := os.Getenv("XDG_CONFIG_HOME"); dir != "" {
		return filepath.Join(dir, "git", "ignore")
	}
	return expandHome("~/.config/git/ignore")
}

func expandHome(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		return filepath.Join(os.Getenv("HOME"), rest)
	}
	return path
}
