#include "train/passes/capture.hpp"

#include <utility>

namespace dbench::train {

CaptureChoice choose_capture(Capture wanted, std::string obstacle) {
    if (wanted == Capture::off) return {false, ""};
    return {obstacle.empty(), std::move(obstacle)};
}

}  // namespace dbench::train
