package forecast

// steps is how many levels of the throttle there are: the two highest priorities, 9 and
// 10, never wait for it.
const steps = 9

// ThrottledBelow returns the priority below which jobs wait for a budget, given the one that
// holds now; 0 holds none. It begins once nine futures in ten run out before the period
// ends. The smaller the share of the remaining time that the money lasts, the higher it
// is: one more tenth that is missing holds one more priority. It rises at once, falls
// only when two steps too high, and ends once the money is more likely than not to last.
func ThrottledBelow(p Projection, now int) int {
	switch p.Verdict {
	case Exhausted:
		return steps
	case RunsOut:
		return min(now, level(p)+1)
	case Throttle:
		if want := level(p); want > now || want < now-1 {
			return want
		}
		return now
	case Enough, TooLittleData:
	}
	return 0
}

// level returns the throttle that the projection calls for by itself.
func level(p Projection) int {
	left := p.Until.Sub(p.From)
	lasts := p.ExhaustedP50.Sub(p.From)
	missing := float64(left-lasts) / float64(left)
	return min(steps, 1+int(missing*10))
}
