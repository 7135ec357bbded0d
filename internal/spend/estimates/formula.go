package estimates

// The formula of document 001: so many tokens for each point of complexity, with shares
// for tests, for what is not foreseen and for the uncertainty of a phase. Its points go
// to 10, and a job's complexity to 5.
const (
	tokensPerPoint = 1000
	pointsPerStep  = 2
	testsFactor    = 1.2
	bufferFactor   = 1.3
	phaseFactor    = 1.15
	// formulaSpread is how far the 90th percentile is taken to be above the median, and
	// outputShare how many of the tokens are output: the formula says neither.
	formulaSpread = 3
	outputShare   = 0.2
)

// formulaTokens returns how many tokens the formula gives.
func formulaTokens(a Ask) float64 {
	step := a.Step()
	if step == unsaid {
		step = middling
	}
	return float64(step*pointsPerStep*tokensPerPoint) * testsFactor * bufferFactor * phaseFactor
}

// byFormula returns what the formula gives, at the prices of a tier.
func byFormula(a Ask, tier Tier) group {
	tokens := formulaTokens(a)
	r := tierRates[tier]
	p50 := tokens * (float64(r.Input)*(1-outputShare) + float64(r.Output)*outputShare) / picosPerNano
	return group{p50: p50, p90: p50 * formulaSpread, tokensP50: tokens}
}
