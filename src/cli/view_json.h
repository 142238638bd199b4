#pragma once

#include <iosfwd>

#include "cli/view.h"

namespace distlock::cli {

/// Writes the view as one JSON document; its schema is in docs/cli.md.
void print_json(std::ostream& out, const View& view);

}  // namespace distlock::cli
