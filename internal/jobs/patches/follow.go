package patches

import (
	"slices"
	"strings"
)

// Place is a line of a file: Line 0 is the whole file.
type Place struct {
	Path string
	Side Side
	Line int
}

// isAlike is which part of the lines of a new file have to be those of another for it to be taken for the same.
const isAlike = 0.5

// Follow finds in a later patch the line that stands at a place of an earlier one. It is false where the line is
// gone, was changed, or where the patches do not show what became of it.
func Follow(earlier, later Patch, from Place) (Place, bool) {
	was, known := earlier.Find(from.Path, from.Side)
	if !known {
		// Of a file that the earlier patch does not change only the name is known.
		now, there := later.Find(from.Path, from.Side)
		return from, there && now.Path() != "" && from.Line == 0
	}
	now, there := later.findSame(was, from.Side)
	if !there || now.On(from.Side) == "" {
		return Place{}, false
	}
	to := Place{Path: now.On(from.Side), Side: from.Side}
	if from.Line > 0 {
		to.Line = followLine(was, now, from)
	}
	return to, from.Line == 0 || to.Line > 0
}

// findSame returns what a later patch does to the same file: that which was the same before the change, else that which
// is called the same after it, else the one among those that are new whose lines are most alike.
func (p Patch) findSame(was File, side Side) (File, bool) {
	if was.Old != "" {
		if f, ok := p.Find(was.Old, Old); ok && (f.On(side) != "" || was.New == "") {
			return f, true
		}
	}
	if was.New != "" {
		if f, ok := p.Find(was.New, New); ok {
			return f, true
		}
	}
	lines := was.lines(side)
	best, found := isAlike, -1
	for i, f := range p.Files {
		if f.Old != "" && f.Old == f.New || f.On(side) == "" {
			continue
		}
		if share := measureShare(lines, f.lines(side)); share > best || share == best && found < 0 {
			best, found = share, i
		}
	}
	if found < 0 {
		return File{}, false
	}
	return p.Files[found], true
}

// measureShare returns which part of a's lines with text b has.
func measureShare(a, b []numbered) float64 {
	has := map[string]int{}
	for _, l := range b {
		has[l.text]++
	}
	all, same := 0, 0
	for _, l := range a {
		if strings.TrimSpace(l.text) == "" {
			continue
		}
		if all++; has[l.text] > 0 {
			has[l.text]--
			same++
		}
	}
	if all == 0 {
		return 0
	}
	return float64(same) / float64(all)
}

// followLine returns the number of a line in the later change of its file, 0 where it is gone.
func followLine(was, now File, from Place) int {
	if isSameSum(sumOn(was, from.Side), sumOn(now, from.Side)) {
		return from.Line
	}
	if from.Side == New && isSameSum(was.OldSum, now.OldSum) {
		if before := was.before(from.Line); before > 0 {
			return now.after(before)
		}
	}
	return followShown(was.lines(from.Side), now.lines(from.Side), from.Line)
}

func sumOn(f File, s Side) string {
	if s == Old {
		return f.OldSum
	}
	return f.NewSum
}

// minSum is how many digits of two sums have to be the same at least.
const minSum = 7

func isSameSum(a, b string) bool {
	n := min(len(a), len(b))
	return n >= minSum && strings.Trim(a, "0") != "" && a[:n] == b[:n]
}

// before returns the number that an unchanged line had before the change, 0 for an added one.
func (f File) before(line int) int {
	shift := 0
	for _, h := range f.Hunks {
		if line < h.NewAt {
			break
		}
		for _, l := range h.Lines {
			if l.New == line {
				return l.Old
			}
		}
		shift = h.OldAt + h.OldCount - h.NewAt - h.NewCount
	}
	return line + shift
}

// after returns the number that a line has after the change, 0 for a removed one.
func (f File) after(line int) int {
	shift := 0
	for _, h := range f.Hunks {
		if line < h.OldAt {
			break
		}
		for _, l := range h.Lines {
			if l.Old == line {
				return l.New
			}
		}
		shift = h.NewAt + h.NewCount - h.OldAt - h.OldCount
	}
	return line + shift
}

type numbered struct {
	number int
	text   string
}

// lines returns what a patch shows of a side of a file.
func (f File) lines(s Side) (list []numbered) {
	for _, h := range f.Hunks {
		for _, l := range h.Lines {
			if n := l.Number(s); n > 0 {
				list = append(list, numbered{n, l.Text})
			}
		}
	}
	return list
}

// followShown finds a line among those that the later patch shows: where it stands in the order of what both
// show, else where a line of its text stands alone in each.
func followShown(was, now []numbered, line int) int {
	i := slices.IndexFunc(was, func(l numbered) bool { return l.number == line })
	if i < 0 {
		return 0
	}
	text := was[i].text
	if j := Align(texts(was), texts(now))[i]; j >= 0 && isAnchored(was, now, i, j) {
		return now[j].number
	}
	if isAlone(was, text) && isAlone(now, text) {
		return now[slices.IndexFunc(now, func(l numbered) bool { return l.text == text })].number
	}
	return 0
}

// isAnchored reports whether a pair of equal lines says anything: a line that stands everywhere, such as a closing
// bracket, does so only beside another line that is the same.
func isAnchored(was, now []numbered, i, j int) bool {
	if isAlone(was, was[i].text) && isAlone(now, now[j].text) {
		return true
	}
	same := func(d int) bool {
		return i+d >= 0 && j+d >= 0 && i+d < len(was) && j+d < len(now) && was[i+d].text == now[j+d].text
	}
	return same(-1) || same(1)
}

func texts(list []numbered) []string {
	out := make([]string, len(list))
	for i, l := range list {
		out[i] = l.text
	}
	return out
}

// isAlone reports whether one line has a text, which is one.
func isAlone(list []numbered, text string) bool {
	n := 0
	for _, l := range list {
		if l.text == text {
			n++
		}
	}
	return n == 1 && strings.TrimSpace(text) != ""
}
