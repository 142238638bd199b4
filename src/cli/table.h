#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>
#include <vector>

namespace distlock::cli {

enum class Style { plain, heading, dim, good, bad };

struct Cell {
  std::string text;  ///< Free of control characters: see escaped().
  Style style = Style::plain;
};

using Row = std::vector<Cell>;

/// `text`, dressed for a terminal if `in_colour`.
std::string dressed(const Cell& cell, bool in_colour);

/// A table that fits, and the headings of the columns that had to go for that.
struct Narrowed {
  std::vector<Row> rows;
  std::vector<std::string> left_out;
};

/// Takes whole columns out for as long as even cut texts are wider than `width`. `first_to_go`
/// names them in this order, by their headings in the first row; every row has them. 0: no limit.
Narrowed narrowed(std::vector<Row> rows, std::size_t width,
                  const std::vector<std::string>& first_to_go);

/// The rows with their texts cut so that none is wider than `width` as columns: the last column
/// first, then the widest. Columns of 8 letters stay. 0: as they are.
std::vector<Row> fitted(std::vector<Row> rows, std::size_t width);

/// Writes the rows as columns that are as wide as their widest text.
void print_table(std::ostream& out, const std::vector<Row>& rows, bool in_colour);

}  // namespace distlock::cli
