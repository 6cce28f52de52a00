package bench

// SecondFigures is what is kept of a second: its histograms go to the log.
type SecondFigures struct {
	// Second of the window, from 0; those behind its end have what came late.
	Second   int            `json:"second"`
	Produced StreamFigures  `json:"produced"`
	Consumed *StreamFigures `json:"consumed,omitempty"`
	// Service is of what was acknowledged in the second, Lag of what was sent.
	Service *LatencyFigure `json:"service,omitempty"`
	Lag     *LatencyFigure `json:"lag,omitempty"`
}

// StreamFigures are counts and percentiles of one second, or of a window.
type StreamFigures struct {
	Records  int64         `json:"records"`
	Bytes    int64         `json:"bytes"`
	Requests int64         `json:"requests"`
	Errors   int64         `json:"errors"`
	Latency  LatencyFigure `json:"latency"`
}

// LatencyFigure is a histogram in a few numbers, in microseconds.
type LatencyFigure struct {
	Count  int64   `json:"count"`
	MeanUs float64 `json:"meanUs"`
	P50Us  float64 `json:"p50Us"`
	P90Us  float64 `json:"p90Us"`
	P99Us  float64 `json:"p99Us"`
	P999Us float64 `json:"p999Us"`
	MaxUs  float64 `json:"maxUs"`
}

func (s *Second) figures() SecondFigures {
	f := SecondFigures{Second: s.Number, Produced: s.Produced.figures(), Service: s.Produced.Service.figureIfAny(), Lag: s.Produced.Lag.figureIfAny()}
	if s.Consumed != nil {
		consumed := s.Consumed.figures()
		f.Consumed = &consumed
	}
	return f
}

func (f *Figures) figures() StreamFigures {
	return StreamFigures{Records: f.Records, Bytes: f.Bytes, Requests: f.Requests, Errors: f.Errors, Latency: f.Latency.Figure()}
}

// Figure is the histogram in a few numbers.
func (h *Histogram) Figure() LatencyFigure {
	us := func(q float64) float64 { return float64(h.Quantile(q).Nanoseconds()) / 1e3 }
	return LatencyFigure{Count: h.Count(), MeanUs: float64(h.Mean().Nanoseconds()) / 1e3, P50Us: us(0.5), P90Us: us(0.9), P99Us: us(0.99),
		P999Us: us(0.999), MaxUs: float64(h.Max().Nanoseconds()) / 1e3}
}

// figureIfAny is nil of nothing.
func (h *Histogram) figureIfAny() *LatencyFigure {
	if h == nil || h.Count() == 0 {
		return nil
	}
	f := h.Figure()
	return &f
}
