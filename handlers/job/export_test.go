package job

// AttemptPage is how many attempts a page shows.
const AttemptPage = attemptPage

// LogPage is how many lines of a log are shown at once.
const LogPage = logPage

// MaxMessage is how much of a message a line shows, in characters.
const MaxMessage = maxMessage
