package analyze

import "slices"

// ChangePointsF1 is the F1 score of predicted change points against several
// annotators, as TCPDBench defines it (van den Burg and Williams 2020): a point
// is found if a prediction lies within margin of it, each prediction serving one
// point; precision against the union of all annotators, recall their mean. Index
// 0 counts as a change in both. annotators and predicted hold indices of first
// points of segments.
func ChangePointsF1(annotators [][]int, predicted []int, margin int) float64 {
	if len(annotators) == 0 {
		return 0
	}
	p := changeSet(predicted)
	var all []int
	var recall float64
	for _, a := range annotators {
		s := changeSet(a)
		all = append(all, s...)
		recall += float64(changeHits(s, p, margin)) / float64(len(s)) / float64(len(annotators))
	}
	precision := float64(changeHits(changeSet(all), p, margin)) / float64(len(p))
	if precision+recall == 0 {
		return 0
	}
	return 2 * precision * recall / (precision + recall)
}

// ChangePointsCover is the mean over the annotators of how well the predicted
// segments of n points cover theirs: the greatest Jaccard index of each segment,
// weighted by its length (TCPDBench).
func ChangePointsCover(annotators [][]int, predicted []int, n int) float64 {
	if len(annotators) == 0 || n < 1 {
		return 0
	}
	p := changeBounds(predicted, n)
	var sum float64
	for _, a := range annotators {
		b := changeBounds(a, n)
		for i := 1; i < len(b); i++ {
			best := 0.0
			for k := 1; k < len(p); k++ {
				in := min(b[i], p[k]) - max(b[i-1], p[k-1])
				if in > 0 {
					best = max(best, float64(in)/float64(max(b[i], p[k])-min(b[i-1], p[k-1])))
				}
			}
			sum += float64(b[i]-b[i-1]) * best
		}
	}
	return sum / float64(n*len(annotators))
}

func changeSet(v []int) []int {
	s := append([]int{0}, v...)
	slices.Sort(s)
	return slices.Compact(s)
}

func changeBounds(v []int, n int) []int {
	b := []int{0}
	for _, k := range changeSet(v) {
		if k > 0 && k < n {
			b = append(b, k)
		}
	}
	return append(b, n)
}

// changeHits counts the points of truth, sorted, that a prediction of their own
// meets; the nearest is taken, the earlier of two.
func changeHits(truth, predicted []int, margin int) int {
	free := slices.Clone(predicted)
	hits := 0
	for _, t := range truth {
		best := -1
		for i, p := range free {
			d := max(p-t, t-p)
			if d <= margin && (best < 0 || d < max(free[best]-t, t-free[best])) {
				best = i
			}
		}
		if best >= 0 {
			hits++
			free = slices.Delete(free, best, best+1)
		}
	}
	return hits
}
