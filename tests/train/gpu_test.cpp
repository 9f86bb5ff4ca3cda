// Tests that need a real GPU; skipped if there is none.

#include "arena/device/queue.hpp"
#include "catch.hpp"
#include "train/device/cuda_device.hpp"
#include "train/device/gpu_facts.hpp"
#include "train/tensors.hpp"
#include "train/torch.hpp"

namespace dbench::train {
namespace {

TEST_CASE("On a GPU a queue starts after the part of a captured pass that it waits for") {
    if (gpu_count() == 0) {
        WARN("skipped: no CUDA device");
        return;
    }
    const std::unique_ptr<Device> gpu = make_gpu_device(0, 1);
    const auto options = torch::TensorOptions(torch::kFloat32).device(torch_device_of(*gpu));
    constexpr int64_t kSize = 2048;
    constexpr int kProducts = 50;
    torch::Tensor x, y, z, rest, identity;
    const auto all = [] { return std::vector<arena::Access>(); };
    const auto through = [&](torch::Tensor from, const torch::Tensor& to) {
        for (int k = 0; k < kProducts; ++k) from = from.matmul(identity);
        torch::Tensor(to).copy_(from);
    };
    gpu->submit("tensors, and a product that is no capture's first", all, [&] {
        identity = torch::eye(kSize, options);
        x = torch::zeros({kSize, kSize}, options);
        y = torch::zeros_like(x);
        z = torch::zeros_like(x);
        rest = torch::zeros_like(x);
        through(x, y);
    });
    const auto work = [&](const Device::EndPart& ends) {
        const torch::NoGradGuard no_grad;
        through(x, y);
        ends();
        through(y, rest);
        ends();
    };
    const auto pass = gpu->capture("pass", {{}, {}}, work, gpu->place().compute());
    arena::StepQueue& step = *gpu->step_queue();
    for (int value = 1; value < 6; ++value) {
        INFO(value);
        gpu->submit("value", all, [&] { x.fill_(value); });
        pass->replay();
        pass->order(0, step.side());
        {
            const arena::StepQueue::SideQueueScope aside(step);
            gpu->submit("first part", all, [&] { z.copy_(y); });
        }
        arena::finish(step, "both parts");
        CHECK(z.eq(value).all().item<bool>());
        CHECK(rest.eq(value).all().item<bool>());
    }
}

}  // namespace
}  // namespace dbench::train
