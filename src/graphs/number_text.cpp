#include "graphs/number_text.hpp"

#include <cstdio>

namespace dbench::graphs {

std::string number_text(double value, int digits) {
    char text[40];
    std::snprintf(text, sizeof text, "%.*g", digits, value);
    return text;
}

}  // namespace dbench::graphs
