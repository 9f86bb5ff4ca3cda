#include "arena/passes/norm_relu.hpp"

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <vector>

#include "arena/grid/launch.hpp"
#include "arena/passes/norm_relu_kernel.hpp"
#include "arena/traffic.hpp"
#include "base/error.hpp"

namespace dbench::arena {

DBENCH_CLONES void on_host(const NormMoments<float>& body) { run_blocks(body); }
DBENCH_CLONES void on_host(const NormMoments<double>& body) { run_blocks(body); }
DBENCH_CLONES void on_host(const ScaleRelu<float>& body) { run_blocks(body); }
DBENCH_CLONES void on_host(const ScaleRelu<double>& body) { run_blocks(body); }
DBENCH_CLONES void on_host(const NormGradientSums<float>& body) { run_blocks(body); }
DBENCH_CLONES void on_host(const NormGradientSums<double>& body) { run_blocks(body); }
DBENCH_CLONES void on_host(const NormInputGradient<float>& body) { run_blocks(body); }
DBENCH_CLONES void on_host(const NormInputGradient<double>& body) { run_blocks(body); }

namespace {

/// Bytes of an array with one value per pixel and channel.
int64_t bytes_of(const Images& images) {
    return images.pixels * images.channels * size_of(images.type);
}
int64_t bytes_of_channels(const Images& images) { return images.channels * size_of(images.type); }

template <class Work>
int64_t with_sums(const Images& images, const Work& work) {
    return with_type(images.type, [&]<class T>() { return work(ImageGrid<T>::of_sums(images)); });
}

/// Returns true if all arrays begin where packs of elements can be read and written.
bool are_aligned(std::initializer_list<const void*> all) {
    return std::all_of(all.begin(), all.end(), [](const void* each) {
        return reinterpret_cast<std::uintptr_t>(each) % 16 == 0;
    });
}

Access sums_of(const Images& images, double* sums) {
    return writes(sums, norm_sums(images) * static_cast<int64_t>(sizeof(double)));
}

}  // namespace

bool supports_images(const Images& images) {
    constexpr int64_t kMost = std::numeric_limits<int32_t>::max();  // Kernels use 32-bit indices.
    return images.pixels > 0 && images.channels % (16 / size_of(images.type)) == 0 &&
           images.pixels <= kMost / images.channels;
}

int64_t norm_sums(const Images& images) {
    return with_sums(images, [](const auto& grid) { return 2 * grid.parts * grid.channels; });
}

void norm_relu(const Images& images, const void* x, const void* added, const Norm& norm,
               double momentum, double eps, void* running_mean, void* running_variance, void* y,
               double* statistics, double* sums, Queue& queue) {
    DBENCH_EXPECT(supports_images(images) && are_aligned({x, added, y}));
    with_type(images.type, [&]<class T>() {
        const auto grid = ImageGrid<T>::of_sums(images);
        const auto in = static_cast<const T*>(x);
        count_bytes((added ? 3 : 2) * bytes_of(images), bytes_of(images));
        launch(queue, "norm_moments", NormMoments<T>{grid, in, sums}, [&] {
            return std::vector<Access>{reads(x, bytes_of(images)), sums_of(images, sums)};
        });
        const ScaleRelu<T> body{ImageGrid<T>::of_pass(images),
                                grid.parts,
                                in,
                                static_cast<const T*>(added),
                                static_cast<const T*>(norm.weight),
                                static_cast<const T*>(norm.bias),
                                momentum,
                                eps,
                                sums,
                                static_cast<T*>(running_mean),
                                static_cast<T*>(running_variance),
                                static_cast<T*>(y),
                                statistics};
        launch(queue, "scale_relu", body, [&] {
            const int64_t all = bytes_of(images), each = bytes_of_channels(images);
            std::vector<Access> list = {reads(x, all),
                                        reads(norm.weight, each),
                                        reads(norm.bias, each),
                                        sums_of(images, sums),
                                        writes(running_mean, each),
                                        writes(running_variance, each),
                                        writes(y, all),
                                        writes(statistics, 2 * images.channels * 8)};
            if (added) list.push_back(reads(added, all));
            return list;
        });
    });
}

void norm_relu_gradients(const Images& images, const NormRelu& forward, const void* gradient,
                         void* g, void* dx, void* dweight, void* dbias, double* sums,
                         Queue& queue) {
    DBENCH_EXPECT(supports_images(images) && (forward.y == nullptr) == (g == nullptr));
    DBENCH_EXPECT(are_aligned({forward.x, forward.y, gradient, g, dx}));
    with_type(images.type, [&]<class T>() {
        const int64_t all = bytes_of(images), each = bytes_of_channels(images);
        count_bytes((forward.y ? 5 : 4) * all, (g ? 2 : 1) * all);
        const auto read = [&](bool again) {
            std::vector<Access> list = {reads(forward.x, all), reads(forward.norm.weight, each),
                                        reads(forward.norm.bias, each),
                                        reads(forward.statistics, 2 * images.channels * 8),
                                        sums_of(images, sums)};
            if (again && g) {
                list.push_back(reads(g, all));
                return list;
            }
            list.push_back(reads(gradient, all));
            if (g) list.push_back(writes(g, all));
            if (forward.y) list.push_back(reads(forward.y, all));
            return list;
        };
        const auto grid = ImageGrid<T>::of_sums(images);
        const NormGradientSums<T> first{grid,
                                        static_cast<const T*>(forward.x),
                                        static_cast<const T*>(forward.y),
                                        static_cast<const T*>(gradient),
                                        static_cast<const T*>(forward.norm.weight),
                                        static_cast<const T*>(forward.norm.bias),
                                        forward.statistics,
                                        static_cast<T*>(g),
                                        sums};
        launch(queue, "norm_gradient_sums", first, [&] { return read(/*again=*/false); });
        const NormInputGradient<T> second{ImageGrid<T>::of_pass(images),
                                          grid.parts,
                                          first,
                                          static_cast<T*>(dx),
                                          static_cast<T*>(dweight),
                                          static_cast<T*>(dbias)};
        launch(queue, "norm_input_gradient", second, [&] {
            std::vector<Access> list = read(/*again=*/true);
            list.push_back(writes(dx, all));
            list.push_back(writes(dweight, each));
            list.push_back(writes(dbias, each));
            return list;
        });
    });
}

}  // namespace dbench::arena
