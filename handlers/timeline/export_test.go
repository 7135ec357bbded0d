package timeline

// TimelineSize is how many events the timeline shows at once.
const TimelineSize = timelineSize
