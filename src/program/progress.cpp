#include "program/progress.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace dbench::program {
namespace {

constexpr double kLogInterval = 10;  // seconds between two lines in a log, later a tenth of the run

std::string numbers_text(const profile::Progress& p) {
    char text[256];
    int used = std::snprintf(text, sizeof text, "epoch %.2f", p.epoch);
    const auto add = [&](const char* format, double value) {
        if (!std::isnan(value)) {
            used += std::snprintf(text + used, sizeof text - used, format, value);
        }
    };
    add("  loss %.4f", p.loss);
    add("  acc %.3f", p.accuracy);
    add("  test %.3f", p.test_accuracy);
    add("  consensus %.3g", p.consensus_distance);
    if (p.tokens_per_second > 0) {
        add("  %.0f tokens/s", p.tokens_per_second);
    } else if (p.samples_per_second > 0) {
        add("  %.0f samples/s", p.samples_per_second);
    }
    return text;
}

}  // namespace

std::string duration_text(double seconds) {
    const long s = std::lround(std::max(0.0, seconds));
    char text[48];
    if (s >= 3600) {
        std::snprintf(text, sizeof text, "%ld:%02ld:%02ld", s / 3600, s / 60 % 60, s % 60);
    } else if (s >= 60) {
        std::snprintf(text, sizeof text, "%ld:%02ld", s / 60, s % 60);
    } else {
        std::snprintf(text, sizeof text, "%ld s", s);
    }
    return text;
}

ProgressLine::ProgressLine(bool quiet) : quiet_(quiet), terminal_(isatty(STDERR_FILENO) == 1) {}

void ProgressLine::show(const profile::Progress& p) {
    if (quiet_ || p.iterations == 0) return;
    const std::string left =
        std::isnan(p.seconds_left) ? "" : "ETA " + duration_text(p.seconds_left);
    const std::string eta = p.done ? "took " + duration_text(p.elapsed) : left;
    const int percent = static_cast<int>(100 * p.completed / p.iterations);
    if (!terminal_) {
        if (!p.done && p.elapsed < next_line_) return;
        next_line_ = p.elapsed + std::max(kLogInterval, p.elapsed / 10);
        std::fprintf(stderr, "dbench: %3d %% (%lld of %lld)  %s  %s\n", percent,
                     static_cast<long long>(p.completed), static_cast<long long>(p.iterations),
                     numbers_text(p).c_str(), eta.c_str());
        return;
    }
    winsize size{};
    const size_t width =
        ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20 ? size.ws_col - 1 : 79;
    constexpr int kBar = 20;
    const int full = static_cast<int>(kBar * p.completed / p.iterations);
    std::string line = "[" + std::string(full, '=') + (full < kBar ? ">" : "") +
                       std::string(std::max(0, kBar - full - 1), ' ') + "] " +
                       std::to_string(percent) + " %  " + eta + "  " + numbers_text(p);
    if (line.size() > width) line.resize(width);
    std::fprintf(stderr, "\r%s\033[K", line.c_str());
    open_ = true;
    if (p.done) end();
}

void ProgressLine::end() {
    if (open_) std::fputc('\n', stderr);
    open_ = false;
}

}  // namespace dbench::program
