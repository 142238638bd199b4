#pragma once

#include <memory>

#include "distlock/line.h"
#include "stores/mongodb/mongo_call.h"

namespace distlock {

/// The lines of a MongoDB store. `pool`, `settings` and `room` must outlive it.
std::unique_ptr<Line> make_mongo_line(MongoPool& pool, const MongoSettings& settings,
                                      MongoRoom& room);

}  // namespace distlock
