package api

import "github.com/ringmill/ringmill/wire"

// fetchRow: Apache Kafka 4 turns versions 0 to 3 away. They are served here with batches of magic 2, which is what the
// clients that still send them read (Sarama looks at each batch's magic); nothing is converted.
var fetchRow = row{key: wire.KeyFetch, min: 0, max: 18}
