// Formats an Inspection (result_file.hpp) for a terminal.

#include <cstdio>

#include "base/text.hpp"
#include "profile/result_file.hpp"

namespace dbench::profile {
namespace {

std::string ago(double seconds) {
    char text[64];
    if (seconds < 120) {
        std::snprintf(text, sizeof text, "%.0f s ago", seconds);
    } else if (seconds < 7200) {
        std::snprintf(text, sizeof text, "%.0f min ago", seconds / 60);
    } else if (seconds < 172800) {
        std::snprintf(text, sizeof text, "%.0f h ago", seconds / 3600);
    } else {
        std::snprintf(text, sizeof text, "%.0f d ago", seconds / 86400);
    }
    return text;
}

std::string state(const Inspection& file) {
    const std::string last = "last written " + ago(file.seconds_since_write);
    switch (file.writer) {
        case Writer::alive:
            return "being written on " + file.host + ", " + last;
        case Writer::dead:
            return "its writer is dead, " + last;
        case Writer::unknown:
            return "possibly being written on " + file.host + " (its locks are not seen here), " +
                   last;
        case Writer::none:
            break;
    }
    return "closed";
}

}  // namespace

std::string to_text(const Inspection& file) {
    std::string text = file.path + "\n";
    const auto line = [&](const char* label, const std::string& value) {
        if (!value.empty()) text += base::column(std::string("  ") + label, 14) + value + "\n";
    };
    const auto number = [](int64_t value) { return std::to_string(value); };
    line("file", state(file) + ", " + number(file.bytes) + " bytes");
    line("mark", file.flagged ? "marked as being written" : "");
    if (!file.readable) {
        line("contents", file.problem);
        return text;
    }
    line("run", file.name + ", " + number(file.replicas) + " replicas on " + number(file.ranks) +
                    " ranks");
    line("status", file.status + (file.error.empty() ? "" : ": " + file.error));
    line("started", file.started + (file.finished.empty() ? "" : ", finished " + file.finished));
    line("rows", number(file.iterations) + (file.planned > 0 ? " of " + number(file.planned) : "") +
                     " iterations, " + number(file.profiled) + " profiled, " +
                     number(file.evaluations) + " evaluations, " + number(file.events) + " events");
    return text;
}

}  // namespace dbench::profile
