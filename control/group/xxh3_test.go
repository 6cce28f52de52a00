package group

import "testing"

// TestXXH3 has vectors of another implementation (github.com/zeebo/xxh3 1.1.0), one for each way that a length is treated.
func TestXXH3(t *testing.T) {
	b := make([]byte, 5000)
	for i := range b {
		b[i] = byte(i*7 + i>>8)
	}
	for _, c := range []struct {
		n    int
		want uint64
	}{
		{0, 0x2d06800538d394c2},
		{1, 0xc44bdff4074eecdb},
		{2, 0x9093381c8763d62e},
		{3, 0xc3489259e968ad9e},
		{4, 0xd3d60c1519014e89},
		{8, 0xb88dee77f6bf6980},
		{9, 0x03688dcad730d826},
		{16, 0x9da23836adf2be1e},
		{17, 0xf34c3c9cf5a112d1},
		{32, 0x99cb9ad0f1a11fbe},
		{33, 0xc077b45492d29cde},
		{64, 0x6efb76ff16f37561},
		{65, 0x2640848e9137156b},
		{96, 0x764d2d5db92942df},
		{97, 0x077acb7e5f4fd940},
		{128, 0x65f3c2c00fa93185},
		{129, 0x28065c6ec25f5b25},
		{160, 0xcc592da68fea2254},
		{240, 0x4917a75c0ef8eed7},
		{241, 0x541b19226f0052e8},
		{255, 0x99b37c2c806e33d3},
		{256, 0xff5a1cefade75bb9},
		{512, 0xe0410eb388a9c9fa},
		{1023, 0x3d31fcc1037648a4},
		{1024, 0x71bee625238addb4},
		{1025, 0xd9b414f4e1bbf7ad},
		{1088, 0xb74e423e955e509d},
		{2048, 0x3293e8238bd8f743},
		{2049, 0x922549b11c04c2eb},
		{5000, 0xed0146266d138bd8},
	} {
		if got := xxh3(b[:c.n]); got != c.want {
			t.Errorf("%d bytes: %#x, want %#x", c.n, got, c.want)
		}
	}
}
