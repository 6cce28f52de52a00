package bench

import (
	"context"
	"time"
)

// A rehearsal's window, and how many requests of each producer a second it has (records, of franz): some of each come in it.
const (
	rehearsalWindow   = 250 * time.Millisecond
	rehearsalRequests = 16
)

// Rehearse does for a moment all that Run does, on a topic of the trial's name that is removed again, so that what stands in its way (nobody answers, no
// right to it, no leader, a property that nodes refuse) is known before others have taken their time. What it measures counts nowhere. Errors are Run's. missing
// is what could not be read beside it, without which a run goes on.
func (t Trial) Rehearse(ctx context.Context) (missing []string, err error) {
	outcome, err := t.rehearsal().Run(ctx)
	if outcome != nil && outcome.Beside != nil {
		missing = outcome.Beside.Missing
	}
	return missing, err
}

// rehearsal is the trial that Rehearse runs.
func (t Trial) rehearsal() Trial {
	t = t.withDefaults() // whose batches are those of the trial's own rate
	t.WarmUp, t.Duration, t.Arrival, t.Backlog = 0, rehearsalWindow, arrivalUniform, nil
	t.Progress, t.Log = nil, nil
	t.Rate = rehearsalRequests * float64(t.Topics*t.Producers)
	if t.Client == ClientRaw {
		t.Rate *= float64(t.BatchRecords)
	}
	t.Rate = min(t.Rate, Rates.Most)
	return t
}
