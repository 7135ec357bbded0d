package ui

import "strconv"

// maxPips is how many seats are drawn; the number beside them is exact.
const maxPips = 12

// arc returns the dash of the progress ring: "62 100".
func arc(percent int) string {
	if percent < 0 {
		return "25 100"
	}
	return strconv.Itoa(clamp(percent)) + " 100"
}

func ringLabel(percent int) string {
	if percent < 0 {
		return "Running"
	}
	return "Running " + strconv.Itoa(clamp(percent)) + " percent"
}

func clamp(percent int) int { return min(max(percent, 0), 100) }

// classes lists one class a seat, scaled down when there are many.
func (p Pips) classes() []string {
	kinds := []struct {
		n     int
		class string
	}{{p.On, "pip-on"}, {p.Drain, "pip-drain"}, {p.Free, "pip-free"}, {p.Off, "pip-off"}}
	total := 0
	for _, k := range kinds {
		total += k.n
	}
	var out []string
	for _, k := range kinds {
		n := k.n
		if total > maxPips && n > 0 {
			n = max(1, n*maxPips/total)
		}
		for range n {
			out = append(out, k.class)
		}
	}
	return out
}
