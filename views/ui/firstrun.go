package ui

// FirstRun is the board's empty state: no job and no factory yet.
type FirstRun struct {
	Server    string // "http://127.0.0.1:8080"
	TokenFile string // path of the enrolment token on the server's machine, "" where there is none
	Factory   string // name of the first factory, "" while there is none
	Agent     string
	Offers    []FirstRunOffer // what the factory offers
	CanWrite  bool
}

// FirstRunOffer is one line of what a factory offers.
type FirstRunOffer struct {
	Label string // "Repos"
	Text  string // "fleetboard-demo"
}

func (f FirstRun) lines() []string {
	return append(AgentEnvironment(f.Server, "", f.TokenFile), AgentStart()...)
}
