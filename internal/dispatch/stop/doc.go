// Package stop stops the fleet, or products of it, for a person: claims give out nothing
// more, and where all is held, those who work are directed to pause. What a stop has paused
// goes on when it is released.
package stop
